package sink

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadSecret(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "url")
	empty := filepath.Join(dir, "empty")
	large := filepath.Join(dir, "large")
	for name, text := range map[string]string{path: "https://h.example/from-file\n", empty: " \n", large: strings.Repeat("x", maxSecret+1)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("COREHOUR_TEST_SECRET", " https://h.example/from-env ")
	t.Setenv("COREHOUR_TEST_EMPTY", " ")
	for source, want := range map[string]string{"env:COREHOUR_TEST_SECRET": "https://h.example/from-env", "file:" + path: "https://h.example/from-file"} {
		s, err := ReadSecret(source)
		if err != nil || s.reveal() != want {
			t.Errorf("%s: %v", source, err)
		}
		line, err := json.Marshal(map[string]any{"s": s})
		if err != nil {
			t.Error(err)
		}
		for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%+v %#v %s %q", s, s, s, s), fmt.Sprintf("%+v", struct{ S Secret }{s}), fmt.Sprintf("%x", s), string(line)} {
			if strings.Contains(shown, "h.example") || strings.Contains(shown, fmt.Sprintf("%x", "h.example")) {
				t.Errorf("shown: %s", shown)
			}
		}
	}
	for source, want := range map[string]string{
		"https://h.example/secret-token": "want env:NAME or file:PATH", "": "want env:NAME", "env:": "want env:NAME", "file:": "want env:NAME",
		"env:COREHOUR_TEST_NONE": "not set", "env:COREHOUR_TEST_EMPTY": "empty", "file:" + empty: "empty file",
		"file:" + large: "at most", "file:" + dir: "regular file", "file:" + path + "x": "no such file",
	} {
		_, err := ReadSecret(source)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%q: %v, want %q", source, err, want)
		}
	}
}

func TestNewEndpoint(t *testing.T) {
	for _, tc := range []struct{ address, headers, want string }{
		{"https://h.example/secret-token", "", ""},
		{"http://h.example:9093", "A: b", ""},
		{"ftp://h.example/secret-token", "", "env:A: want an http"},
		{"secret-token", "", "env:A: want an http"},
		{"http://%zz/secret-token", "", "env:A: want an http"},
		{"https://", "", "env:A: want an http"},
		{"http://h", "secret-token", "env:B: want lines"},
		{"http://h", "A\x00: secret-token", "env:B: want lines"},
		{"http://h", "A: secret-token\x01", "env:B: want lines"},
		{"http://h", ": secret-token", "env:B: want lines"},
		{"http://h", "A:", "env:B: want lines"},
		{"http://h", "\n\n", "env:B: want lines"},
	} {
		headers := Secret{}
		if tc.headers != "" {
			headers = newSecret("env:B", tc.headers)
		}
		_, err := NewEndpoint(newSecret("env:A", tc.address), "", headers)
		switch {
		case tc.want == "":
			if err != nil {
				t.Errorf("%+v: %v", tc, err)
			}
		case err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "secret-token"):
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

func FuzzNewEndpoint(f *testing.F) {
	f.Add("https://user:pass@h.example/a/b?c=d", "Authorization: Bearer x\nA: b")
	f.Add("http://[::1]:9093", "")
	f.Fuzz(func(t *testing.T, address, headers string) {
		secret := Secret{}
		if headers != "" {
			secret = newSecret("env:B", headers)
		}
		e, err := NewEndpoint(newSecret("env:A", address), "", secret)
		if err != nil {
			return
		}
		for name, values := range e.headers {
			for _, v := range values {
				if strings.ContainsAny(name+v, "\r\n\x00") {
					t.Errorf("header %q: %q", name, v)
				}
			}
		}
	})
}
