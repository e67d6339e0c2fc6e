package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	want := regexp.MustCompile(`^corehour \S+\ncommit .+\nGo ` + regexp.QuoteMeta(runtime.Version()) + `\nDuckDB v\d+\.\d+\.\d+\S*\n$`)
	for _, name := range []string{"version", "--version"} {
		if r := corehour(name); r.code != exitNothing || r.stderr != "" || !want.MatchString(r.stdout) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := corehour("version", "x"); r.code != exitFailed || !strings.Contains(r.stderr, `found "x"`) {
		t.Errorf("%+v", r)
	}
}

// TestVersion_MakefileVariables: the linker silently ignores -X for variables that do not exist.
func TestVersion_MakefileVariables(t *testing.T) {
	out, err := exec.Command("make", "-n", "-C", "../..", "build", "VERSION=v9.8.7", "COMMIT=abc").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := parser.ParseFile(token.NewFileSet(), "version.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, d := range source.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					known[name.Name] = true
				}
			}
		}
	}
	set := map[string]string{}
	for _, m := range regexp.MustCompile(`-X main\.(\w+)=([^\s"]+)`).FindAllStringSubmatch(string(out), -1) {
		set[m[1]] = m[2]
		if !known[m[1]] {
			t.Errorf("the Makefile sets main.%s, which version.go does not declare", m[1])
		}
	}
	if set["version"] != "v9.8.7" || set["commit"] != "abc" {
		t.Errorf("make build sets %v", set)
	}
}

func TestHelp_Command(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if asked, want := corehour("help", c.Name()), corehour(c.Name(), "--help"); asked != want || asked.code != exitNothing || asked.stdout == "" {
			t.Errorf("help %s: %+v, want %+v", c.Name(), asked, want)
		}
	}
}
