package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checkCommand checks a command line in a file of this folder. Its program, its flags and its configuration
// file must exist in this repository.
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
	if program == "corehour" && len(words) > 1 && !strings.HasPrefix(words[1], "-") {
		checkFlags(t, where, words[1], words[2:])
	}
}

// checkFlags checks that the help of the command contains all flags.
func checkFlags(t *testing.T, where, command string, words []string) {
	t.Helper()
	help, err := exec.CommandContext(t.Context(), "go", "-C", "..", "run", "./cmd/corehour", command, "--help").CombinedOutput()
	if err != nil {
		t.Errorf("%s: corehour %s --help: %v\n%s", where, command, err, help)
		return
	}
	for _, word := range words {
		flag, _, _ := strings.Cut(word, "=")
		if !regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(flag) + `\b`).Match(help) {
			t.Errorf("%s: corehour %s has no flag %s", where, command, flag)
		}
	}
}
