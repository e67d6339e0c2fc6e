package methodfile

import (
	"strings"
	"testing"
)

// A path that is no regular file could be read for ever.
func TestTheMethodFileIsAFile(t *testing.T) {
	w := &Watch{Path: t.TempDir()}
	if _, err := w.Next(); err == nil || !strings.Contains(err.Error(), "must be a regular file") {
		t.Errorf("a directory: %v", err)
	}
}
