// Pack writes the sources of the SDK into a zip file whose bytes depend on nothing else, for
// package instrument to embed: a module cannot embed files of another. Assembly is left out, which an
// overlay cannot have, but for that of frames.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack SDK ZIP")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(sdk, to string) error {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	err := filepath.WalkDir(sdk, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(sdk, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, noModule := os.Stat(filepath.Join(path, "go.mod"))
			if name != "." && (noModule == nil || d.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		assembly := strings.HasSuffix(name, ".s") && filepath.Base(filepath.Dir(name)) == "frames"
		if !assembly && !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := w.Create(filepath.ToSlash(name))
		if err != nil {
			return err
		}
		_, err = file.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, archive.Bytes(), 0o644)
}
