package adaptivesampler

import (
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// strategyOf makes the strategy of a configuration, nil for the file's.
func strategyOf(c *Config) decide.Strategy {
	if c.Strategy == strategyFile {
		return nil
	}
	return decide.New(decide.Config(c.Deciding))
}

func functionOf(key decide.Key) methodspan.Function {
	return methodspan.Function{Class: key.Class, Method: key.Method, Signature: key.Signature}
}
