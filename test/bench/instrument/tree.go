package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Module versions are pinned, because ratios of different versions are not comparable.
const (
	goldmark = "github.com/yuin/goldmark@v1.7.13"
	caddy    = "github.com/caddyserver/caddy/v2@v2.11.9"
)

// fetch copies a module out of the module cache, because files there are read-only.
func (b *bench) fetch(name, module string) (string, error) {
	text, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(text, &m); err != nil {
		return "", err
	}
	tree := b.path(name)
	return tree, os.CopyFS(tree, os.DirFS(m.Dir))
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
