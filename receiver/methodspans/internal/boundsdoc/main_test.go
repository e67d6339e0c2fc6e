package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../../.."

func TestBoundsDoc_UpToDate(t *testing.T) {
	want, err := render(root)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(root, "docs", "reference", "bounds.md"))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run go generate ./receiver/methodspans")
}

func TestBoundsDoc_FaultyLists(t *testing.T) {
	dir := t.TempDir()
	write := func(component, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "receiver", component), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "receiver", component, "bounds.yaml"), []byte(text), 0o644))
	}
	write("a", "component: a\nbounds:\n  - {what: x, default: 1, beyond: 'y | z'}\n  - {what: x}\n")
	write("b", "component: b\nbound: []\n")
	_, err := render(dir)
	for _, want := range []string{"a/bounds.yaml: bounds::1: `default` must be given", "bounds::1: `beyond` must be given", "field bound not found"} {
		assert.ErrorContains(t, err, want)
	}

	write("a", "component: a\nbounds:\n  - {what: x, option: o, default: 1, beyond: 'y | z'}\n")
	write("b", "component: b\nbounds: []\n")
	text, err := render(dir)
	require.NoError(t, err)
	assert.Contains(t, string(text), "## a\n\n| what | limit | beyond it | metric |\n|---|---|---|---|\n| x | `o`: 1 | y \\| z |  |\n")
}
