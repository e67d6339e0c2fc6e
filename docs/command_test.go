package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPages_CommandsAndFlagsExist checks every command line of `corehour` in the code of a
// page: the program's help must have its command and flags.
func TestPages_CommandsAndFlagsExist(t *testing.T) {
	program := filepath.Join(t.TempDir(), "corehour")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/corehour").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	help := func(arguments ...string) string {
		out, err := exec.CommandContext(t.Context(), program, arguments...).CombinedOutput()
		if err != nil {
			t.Fatalf("corehour %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
		return string(out)
	}
	usage := help("--help")
	helps := make(map[string]string)
	line := regexp.MustCompile("(?:^|[\\s`/])corehour ([a-z]+(?:-[a-z]+)?)([^`\n]*)")
	flags := regexp.MustCompile(`--([a-z][a-z-]*)`)
	checked := 0
	for page, text := range pages(t) {
		if !strings.HasPrefix(page, "docs/") && page != "README.md" {
			continue
		}
		for _, code := range codeOf(text) {
			for _, match := range line.FindAllStringSubmatch(code, -1) {
				command := match[1]
				if !regexp.MustCompile(`(?m)^  ` + command + ` `).MatchString(usage) {
					t.Errorf("%s shows `corehour %s`, which does not exist", page, command)
					continue
				}
				if helps[command] == "" {
					helps[command] = help(command, "--help")
				}
				checked++
				for _, flag := range flags.FindAllStringSubmatch(match[2], -1) {
					if !regexp.MustCompile(`(?m)^  --` + flag[1] + `\b`).MatchString(helps[command]) {
						t.Errorf("%s shows `corehour %s --%s`: no such flag", page, command, flag[1])
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no page shows a command")
	}
}

// codeOf returns the text of fenced blocks and between backticks.
func codeOf(text string) []string {
	var code []string
	for _, match := range regexp.MustCompile("(?s)```[a-z]*\n(.*?)```").FindAllStringSubmatch(text, -1) {
		code = append(code, match[1])
	}
	for _, match := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(withoutCode(text), -1) {
		code = append(code, match[1])
	}
	return code
}
