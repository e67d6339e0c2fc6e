package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

const module = "github.com/corehour/corehour"

// TestModules_Rules compares every go.mod with docs/adr/0001-modules.md.
func TestModules_Rules(t *testing.T) {
	leaf := regexp.MustCompile(`^(integration(/.*)?|test/shop|sdk/bench)$`)
	leaves := []string{} // modules that no other module can require
	required := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "build" || name == "testdata") {
			return filepath.SkipDir
		}
		if name == "go.work" {
			t.Errorf("%s: there must be no go.work", path)
		}
		if name != "go.mod" {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := modfile.Parse(path, data, nil)
		if err != nil {
			return err
		}
		for _, replace := range file.Replace {
			if !leaf.MatchString(rel) && rel != "sdk/otelbridge" {
				t.Errorf("%s: replaces %s: only leaf modules may", path, replace.Old.Path)
			}
			if !strings.HasPrefix(replace.New.Path, ".") {
				t.Errorf("%s: replaces %s by %s: want a relative path", path, replace.Old.Path, replace.New.Path)
			}
		}
		if leaf.MatchString(rel) {
			leaves = append(leaves, file.Module.Mod.Path)
		}
		for _, require := range file.Require {
			if strings.HasPrefix(require.Mod.Path, module) {
				required[require.Mod.Path] = rel
			}
			if rel == "sdk" || rel == "." && strings.HasPrefix(require.Mod.Path, module) {
				t.Errorf("%s: must not require %s", path, require.Mod.Path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, by := range required {
		if slices.Contains(leaves, path) && !leaf.MatchString(by) {
			t.Errorf("%s requires %s, a leaf", by, path)
		}
	}
}

// TestPages_MakeTargetsExist checks that the Makefile has every target and every WHAT that a page mentions.
func TestPages_MakeTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)(?:^|\s)make ([a-z][a-z-]*)(?:\s+WHAT=([a-z]+))?`)
	checked := 0
	for page, text := range pages(t) {
		for _, code := range codeOf(text) {
			for _, match := range shown.FindAllStringSubmatch(code, -1) {
				checked++
				target := match[1]
				if match[2] != "" {
					target += "-" + match[2]
				}
				if !regexp.MustCompile(`(?m)^` + target + `:`).Match(makefile) {
					t.Errorf("%s names make %s, but the Makefile has no %s", page, match[0], target)
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no page names a target")
	}
}
