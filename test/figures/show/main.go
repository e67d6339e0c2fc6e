// Command show prints figures measured by a program of another module and writes them to a file, as package figures
// does for programs that can import it. The root module cannot: its go.mod must not require another
// module of the repository (docs/adr/0001-modules.md).
//
//	simulate | show --out ../../build/bench
//
// It reads one JSON object, {"name": ..., "results": [...]}. A result has a name, value, unit and better ("lower" or
// "higher"). Optional fields are goal, peer, peer_value and ratio. With a peer, the goal is for the
// ratio: the given one, or that of value and peer_value.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/corehour/corehour/test/figures"
)

func main() {
	out := flag.String("out", "", "directory for the figures")
	flag.Parse()
	if err := showReport(os.Stdin, os.Stdout, *out); err != nil {
		fmt.Fprintln(os.Stderr, "show:", err)
		os.Exit(1)
	}
}

func showReport(in io.Reader, to io.Writer, dir string) error {
	if dir == "" {
		return errors.New("--out is missing: name the directory for the figures")
	}
	var given struct {
		Name    string           `json:"name"`
		Results []figures.Result `json:"results"`
	}
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&given); err != nil {
		return fmt.Errorf("read the figures from standard input: %w", err)
	}
	if given.Name == "" || len(given.Results) == 0 {
		return fmt.Errorf("read the figures from standard input: want a name and results, found name %q and %d results", given.Name, len(given.Results))
	}
	report := figures.New(given.Name)
	for i, r := range given.Results {
		if r.Better != figures.Lower && r.Better != figures.Higher {
			return fmt.Errorf("results[%d] (%s): better must be lower or higher, found %q", i, r.Name, r.Better)
		}
		if r.PeerValue != nil && r.Ratio != nil {
			report.CompareRounds(r.Name, r.Value, r.Unit, r.Peer, *r.PeerValue, *r.Ratio, r.Better, r.Goal)
			continue
		}
		if r.PeerValue != nil {
			report.Compare(r.Name, r.Value, r.Unit, r.Peer, *r.PeerValue, r.Better, r.Goal)
			continue
		}
		report.Add(r.Name, r.Value, r.Unit, r.Better, r.Goal)
	}
	return errors.Join(report.Print(to), report.Write(dir))
}
