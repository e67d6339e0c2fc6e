package instrument

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
)

// Tasks are the values of Settings.Task: predefined method files.
var Tasks = []string{"whole", "part", "start-up"}

// taskFile returns the text of a task's method file, or "" without a task.
func (s Settings) taskFile() (string, error) {
	switch {
	case s.Task != "" && !slices.Contains(Tasks, s.Task):
		return "", fmt.Errorf("--task %q is unknown: %s", s.Task, configfile.DidYouMean(s.Task, Tasks))
	case s.Task != "" && s.Methods != "":
		return "", errors.New("--task cannot be combined with --methods, which says by itself what is measured: leave one out")
	case len(s.Roots) > 0 && s.Task != "part":
		return "", errors.New("--root is for --task part")
	case s.Task == "part" && len(s.Roots) == 0:
		return "", errors.New("--task part needs --root CLASS.METHOD, whose calls are measured with all that they call")
	case s.Task == "":
		return "", nil
	}
	file := map[string]any{"version": 1}
	switch s.Task {
	case "whole":
		file["defaults"] = map[string]any{"rate": 0.01}
	case "start-up":
		file["defaults"] = map[string]any{"rate": 1}
	case "part":
		var entries []any
		for _, root := range s.Roots {
			f := methodspan.ParseFunction(root)
			entries = append(entries, map[string]any{"class": f.Class, "method": f.Method, "rate": 0.01, "cpu_rate": 1, "scope": methodfile.ScopeLazy})
		}
		file["methods"] = entries
	}
	text, err := json.Marshal(file)
	return string(text), err
}
