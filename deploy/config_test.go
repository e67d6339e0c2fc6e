package deploy

import (
	"os"
	"path/filepath"
)

// collectorConfig is the text of the default configuration.
var collectorConfig = func() string {
	text, err := os.ReadFile(filepath.Join("..", "config", "collector.yaml"))
	if err != nil {
		panic(err)
	}
	return string(text)
}()
