package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkCommand checks a command line of a file in this folder: the program is one
// of ours, and a configuration it names is one we ship.
func checkCommand(t *testing.T, where string, words []string) {
	t.Helper()
	if len(words) == 0 {
		t.Errorf("%s: no command", where)
		return
	}
	program := filepath.Base(words[0])
	if _, err := os.Stat(filepath.Join("..", "cmd", program)); err != nil {
		t.Errorf("%s: runs %s, and there is no cmd/%s", where, words[0], program)
	}
	for _, word := range words[1:] {
		if file, ok := strings.CutPrefix(word, "--config=file:/etc/corehour/"); ok {
			if _, err := os.Stat(filepath.Join("..", "config", file)); err != nil {
				t.Errorf("%s: reads %s, and there is no config/%s", where, word, file)
			}
		}
	}
}
