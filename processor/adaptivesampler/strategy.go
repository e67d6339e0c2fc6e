package adaptivesampler

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// strategyOf returns the configured strategy, or nil for the strategy "file".
func strategyOf(c *Config) decide.Strategy {
	if c.Strategy == strategyFile {
		return nil
	}
	return decide.New(decide.Config(c.Deciding))
}

func functionOf(key decide.Key) methodspan.Function {
	return methodspan.Function{Class: key.Class, Method: key.Method, Signature: key.Signature}
}
