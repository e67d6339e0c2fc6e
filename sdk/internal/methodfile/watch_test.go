package methodfile

import (
	"strings"
	"testing"
)

// Reading a path that is not a regular file may never end.
func TestWatch_NotRegularFile(t *testing.T) {
	w := &Watch{Path: t.TempDir()}
	if _, err := w.Next(); err == nil || !strings.Contains(err.Error(), "must be a regular file") {
		t.Errorf("a directory: %v", err)
	}
}
