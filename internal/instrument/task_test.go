package instrument

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTask(t *testing.T) {
	for _, c := range []struct {
		settings    Settings
		file, fault string
	}{
		{Settings{}, "", ""},
		{Settings{Task: "whole"}, `{"defaults":{"rate":0.01},"version":1}`, ""},
		{Settings{Task: "start-up"}, `{"defaults":{"rate":1},"version":1}`, ""},
		{Settings{Task: "part", Roots: []string{"shop/web.(*Handler).Serve", "shop/web.Handler.*", "shop/web.Listen", "main.main"}},
			`{"methods":[{"class":"shop/web.Handler","cpu_rate":1,"method":"Serve","rate":0.01,"scope":"lazy"},` +
				`{"class":"shop/web.Handler","cpu_rate":1,"method":"*","rate":0.01,"scope":"lazy"},` +
				`{"class":"shop/web","cpu_rate":1,"method":"Listen","rate":0.01,"scope":"lazy"},` +
				`{"class":"main","cpu_rate":1,"method":"main","rate":0.01,"scope":"lazy"}],"version":1}`, ""},
		{Settings{Task: "hole"}, "", `--task "hole" is unknown: did you mean "whole"?`},
		{Settings{Task: "everything"}, "", `--task "everything" is unknown: known are "part", "start-up", "whole"`},
		{Settings{Task: "whole", Methods: "m.json"}, "", "--task cannot be combined with --methods, which says by itself what is measured: leave one out"},
		{Settings{Task: "whole", Roots: []string{"a.B"}}, "", "--root is for --task part"},
		{Settings{Roots: []string{"a.B"}}, "", "--root is for --task part"},
		{Settings{Task: "part"}, "", "--task part needs --root CLASS.METHOD, whose calls are measured with all that they call"},
	} {
		text, file, err := readMethods(c.settings, io.Discard)
		if c.fault != "" {
			assert.EqualError(t, err, c.fault)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.file, text)
		assert.Equal(t, c.file == "", file == nil)
	}
}
