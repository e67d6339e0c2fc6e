package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/corehour/corehour/internal/configfile"
)

// flagsWithYes are the flags that delete or change stored data, and therefore need --yes.
var flagsWithYes = []string{"warehouse", "cache-size", "format", "dry-run", "yes", "delete-service", "relabel", "drop-damaged", "drop-impossible", "import"}

// needsYes reports whether the command deletes or changes stored data.
func (c *compactCall) needsYes() bool { return c.ofService() || c.dropDamaged || c.dropImpossible }

// ofService reports whether the command deletes or renames a service.
func (c *compactCall) ofService() bool { return c.delete != "" || c.relabelled != "" }

func (c *compactCall) parseService(f *pflag.FlagSet) error {
	if c.relabelled != "" {
		c.from, c.to, _ = strings.Cut(c.relabelled, "=")
		if c.from == "" || c.to == "" || c.from == c.to {
			return fmt.Errorf("--relabel: want two different names as old=new, found %q", c.relabelled)
		}
	}
	if c.delete != "" && c.from != "" {
		return errors.New("--delete-service and --relabel: want one of them, found both")
	}
	if c.dropDamaged && c.ofService() {
		return errors.New("--drop-damaged and --delete-service or --relabel: want one of them, found both")
	}
	if c.dropImpossible && (c.dropDamaged || c.ofService()) {
		return errors.New("--drop-impossible and --drop-damaged, --delete-service or --relabel: want one of them, found both")
	}
	if !c.needsYes() {
		if c.yes {
			return errors.New("--yes has no effect without --delete-service, --relabel, --drop-damaged or --drop-impossible")
		}
		return nil
	}
	var errs []error
	if c.yes && c.job.DryRun {
		errs = append(errs, errors.New("--yes and --dry-run: want one of them, found both"))
	}
	f.Visit(func(fl *pflag.Flag) {
		if !slices.Contains(flagsWithYes, fl.Name) {
			errs = append(errs, fmt.Errorf("--%s %s has no effect with --delete-service, --relabel, --drop-damaged or --drop-impossible, which do nothing else: leave it out, or run compact twice", fl.Name, fl.Value))
		}
	})
	if !c.yes {
		c.job.DryRun = true
	}
	return errors.Join(errs...)
}

// noRows returns the error for a service without stored rows.
func (c *compactCall) noRows(others []string) error {
	name := c.delete + c.from // one of them is empty
	slices.Sort(others)
	hint := configfile.DidYouMean(name, slices.Compact(others))
	if hint != "" {
		hint = " (" + hint + ")"
	}
	return fmt.Errorf("nothing of service %q is stored%s", name, hint)
}
