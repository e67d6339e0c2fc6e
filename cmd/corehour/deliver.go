package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/regression/alert/delivery"
	"github.com/corehour/corehour/regression/alert/rules"
	"github.com/corehour/corehour/regression/alert/sink"
	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/output"
)

// deliverFlags are where alerts go, who owns them, and which are muted.
type deliverFlags struct {
	webhook, webhookHeaders           string
	slack                             string
	alertmanager, alertmanagerHeaders string
	owners, silences                  string
	state                             string
	timeout                           time.Duration

	router   *delivery.Dispatcher
	reported string // warnings of the files, as they were reported last
}

func (d *deliverFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&d.webhook, "webhook", "", "send alerts to the URL in `env:NAME or file:PATH` as JSON")
	f.StringVar(&d.webhookHeaders, "webhook-headers", "", "with these headers, lines of Name: value in `env:NAME or file:PATH`")
	f.StringVar(&d.slack, "slack", "", "send alerts to the Slack webhook in `env:NAME or file:PATH`")
	f.StringVar(&d.alertmanager, "alertmanager", "", "send alerts to the Alertmanager at this `URL`, or env:NAME or file:PATH")
	f.StringVar(&d.alertmanagerHeaders, "alertmanager-headers", "", "with these headers, lines of Name: value in `env:NAME or file:PATH`")
	f.DurationVar(&d.timeout, "timeout", 30*time.Second, "`duration` that the deliveries of one evaluation may take; the next evaluation sends the rest")
	f.StringVar(&d.silences, "silences", "", "`file` of alerts that are muted for a while")
	groupFlags(f, alertFlags, "webhook", "webhook-headers", "slack", "alertmanager", "alertmanager-headers", "timeout", "silences")
	d.declareOwners(f)
	d.declareState(f)
}

func (d *deliverFlags) declareOwners(f *pflag.FlagSet) {
	f.StringVar(&d.owners, "owners", "", "`file` of owners of services and classes, and where their alerts go")
	groupFlags(f, alertFlags, "owners")
}

func (d *deliverFlags) declareState(f *pflag.FlagSet) {
	f.StringVar(&d.state, "state", "", "`directory` of accepted and sent alerts (default: that of --warehouse with the suffix .state)")
	groupFlags(f, alertFlags, "state")
}

// grace is how long deliveries may take once the process is asked to end.
const grace = 10 * time.Second

// store is where the state is.
func (d *deliverFlags) store(warehouse string) *state.Store {
	return state.At(cmp.Or(d.state, state.DirectoryOf(warehouse)))
}

// prepare reads files and secrets and makes the router. period is that of evaluations, 0 for a
// single one.
func (d *deliverFlags) prepare(warehouse string, period time.Duration, stderr io.Writer, name string) error {
	clock := func() time.Time { return now() }
	d.router = &delivery.Dispatcher{Store: d.store(warehouse), Timeout: d.timeout, Grace: grace, Now: clock}
	var faults []error
	if d.timeout <= 0 {
		faults = append(faults, fmt.Errorf("--timeout: want more than 0, found %s", d.timeout))
	}
	faults = append(faults, d.reload(stderr, name))
	addTarget := func(flag string, s sink.Spec) {
		if s.URL == "" {
			if s.Headers != "" {
				faults = append(faults, fmt.Errorf("--%s-headers has no effect without --%s", flag, flag))
			}
			return
		}
		made, err := sink.New(s, period, clock)
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
			return
		}
		d.router.Targets = append(d.router.Targets, delivery.Target{Sink: made, Owner: s.Owner})
	}
	addTarget("webhook", sink.Spec{Kind: "webhook", URL: d.webhook, Headers: d.webhookHeaders})
	addTarget("slack", sink.Spec{Kind: "slack", URL: d.slack})
	addTarget("alertmanager", sink.Spec{Kind: "alertmanager", URL: d.alertmanager, Headers: d.alertmanagerHeaders})
	if d.router.Owners != nil {
		for _, r := range d.router.Owners.Routes {
			addTarget("owners", sink.Spec{Kind: r.Sink, Owner: r.Owner, URL: r.URL, Headers: r.Headers})
		}
	}
	return errors.Join(faults...)
}

// unused refuses flags for alerts of a command that raises none.
func (d *deliverFlags) unused() error {
	for _, f := range []struct{ name, value string }{
		{"webhook", d.webhook}, {"slack", d.slack}, {"alertmanager", d.alertmanager}, {"silences", d.silences},
	} {
		if f.value != "" {
			return fmt.Errorf("--%s has no effect without --budgets: add it, or leave this out", f.name)
		}
	}
	return nil
}

// reload reads the files of rules. Routes are made once; owners and silences may change while it
// watches. A file that cannot be read leaves the rules as they were.
func (d *deliverFlags) reload(stderr io.Writer, name string) error {
	var warnings []configfile.Warning
	err := errors.Join(
		loadRules("--owners", d.owners, rules.ParseOwners, &d.router.Owners, &warnings),
		loadRules("--silences", d.silences, rules.ParseSilences, &d.router.Silences, &warnings),
	)
	d.warn(stderr, name, warnings)
	return err
}

// loadRules reads the file of a flag, if it is given, and adds what of it is left out.
func loadRules[T any](flag, path string, parse func([]byte) (T, []configfile.Warning, error), into *T, leftOut *[]configfile.Warning) error {
	if path == "" {
		return nil
	}
	value, warnings, err := configfile.Source[T]{Key: flag, Path: path, Parse: parse}.Load()
	if err == nil {
		*into, *leftOut = value, append(*leftOut, warnings...)
	}
	return err
}

// warn reports once what of the files is left out.
func (d *deliverFlags) warn(stderr io.Writer, name string, warnings []configfile.Warning) {
	var b strings.Builder
	shown, rest := configfile.Shown(warnings)
	for _, w := range shown {
		fmt.Fprintf(&b, "corehour %s: left out: %s\n", name, output.Printable(w.Error()))
	}
	if rest > 0 {
		fmt.Fprintf(&b, "corehour %s: left out: %d more\n", name, rest)
	}
	if b.String() != d.reported {
		fmt.Fprint(stderr, b.String())
		d.reported = b.String()
	}
}
