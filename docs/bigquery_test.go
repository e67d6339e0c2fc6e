package docs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestRules_Bucket parses the lifecycle rule for the bucket of load jobs and rejects unknown names, as Cloud
// Storage does.
func TestRules_Bucket(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/guides/bigquery.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 1 {
		t.Fatalf("%d blocks of JSON", len(blocks))
	}
	var lifecycle struct {
		Rule []struct {
			Action    struct{ Type string }
			Condition struct{ Age int }
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(blocks[0][1]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&lifecycle); err != nil {
		t.Fatal(err)
	}
	if len(lifecycle.Rule) != 1 || lifecycle.Rule[0].Action.Type != "Delete" || lifecycle.Rule[0].Condition.Age < 2 {
		t.Errorf("%+v", lifecycle)
	}
}
