package harness

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Names of the binaries of `make build`.
const (
	CommandBinary   = "corehour"
	CollectorBinary = "corehour-collector"
)

// BinariesVariable is the environment variable with the directory of the binaries.
const BinariesVariable = "COREHOUR_BIN"

// Binaries returns the absolute directory of the binaries, or an error that names all missing ones.
func Binaries(names ...string) (string, error) {
	dir, err := filepath.Abs(cmp.Or(os.Getenv(BinariesVariable), filepath.Join("..", "bin")))
	if err != nil {
		return "", err
	}
	var faults []error
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			faults = append(faults, fmt.Errorf("%s is not in %s: run `make build`, or set %s to the directory that has it", name, dir, BinariesVariable))
		}
	}
	return dir, errors.Join(faults...)
}
