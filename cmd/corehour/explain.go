package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/regression/compare/pairs"
	"github.com/corehour/corehour/regression/explain"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// explainFlags holds the flags of explain in addition to the common ones.
type explainFlags struct {
	*common
	collector, version, method string
	options                    pairs.Options
	times                      evidenceFlags
	delivery                   deliverFlags
}

func newExplainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [flags] METHOD",
		Short: "Show what is known of a method, and why it is sampled so",
		Long: `Shows what the warehouse knows of one method: versions, sampling, cost, the verdict on the newest
version with every condition of an alert, drift, accepted and muted alerts. With --collector the
sampler of a running collector reports why it samples the method as it does. METHOD is the full name,
or the end of it if one method has it; each environment is explained. See docs/guides/regression.md.`,
		Example: `  corehour explain shop/cart.Cart.Total --since 7d
  corehour explain Cart.Total --service shop --collector http://localhost:4319`,
		Annotations: exits("0 explained\n2 failed: several methods have that name\n3 no such method"),
	}
	e := &explainFlags{common: newCommon(cmd, "7d")}
	f := e.flags
	f.Lookup("format").Usage = "text, json or markdown"
	f.StringVar(&e.collector, "collector", "", "ask the extension sampling_rates of the collector at this `URL`, as http://localhost:4319")
	f.StringVar(&e.version, "version", "", "only this version (`name`)")
	e.times.declare(f)
	f.StringVar(&e.delivery.silences, "silences", "", "`file` of alerts that are muted for a while")
	groupFlags(f, alertFlags, "silences")
	e.delivery.declareState(f)
	e.delivery.timeout = grace
	e.completeVersions(cmd, "version")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return e.complete(e.methodNames)(cmd, args, typed)
	}
	return withWork(cmd, e.explainMethod)
}

func (e *explainFlags) explainMethod(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	err := e.checkFlags(e.check)
	if err != nil {
		return exitFailed, err
	}
	e.notices = stderr
	var answer explain.Answer
	if e.collector != "" {
		if answer.Explanations, err = e.asked().Ask(ctx); err != nil {
			return exitFailed, err
		}
	}
	if e.collector == "" || given(e.flags, "warehouse") {
		if err := e.delivery.prepare(e.warehouse, 0, stderr, "explain"); err != nil {
			return exitFailed, err
		}
		answer.Methods, err = explain.Accounts(ctx, explain.Options{
			Method: e.method, Version: e.version, Window: e.window, Filter: e.filter, Zone: e.zone, Now: now(), Verdict: e.options, Alerts: e.delivery.router,
			Open: func(ctx context.Context, window query.Window) (*query.Warehouse, error) { return e.open(ctx, window) },
		})
		if err != nil {
			return exitFailed, err
		}
	}
	return exitNothing, e.write(stdout, answer.Document(e.zone))
}

func (e *explainFlags) check() error {
	methods := e.flags.Args()
	var faults []error
	switch {
	case len(methods) == 0 || methods[0] == "":
		faults = append(faults, errors.New("want the method to explain: corehour explain shop/cart.Cart.Total"))
	case len(methods) > 1:
		faults = append(faults, fmt.Errorf("want one method, found the further argument %q", methods[1]))
	default:
		e.method = methods[0]
	}
	if e.out == output.CSV {
		faults = append(faults, fmt.Errorf("--format: want text, json or markdown, found %q", e.format))
	}
	e.options.Limits = pairs.EvidenceRule{}.Default()
	faults = append(faults, e.times.check(e.flags, &e.options))
	if e.collector != "" {
		if e.filter.Service == "" {
			faults = append(faults, errors.New("--service: want the name of the service for a --collector, found nothing"))
		}
		_, err := e.asked().Address()
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// asked is the query address of the collector.
func (e *explainFlags) asked() *explain.Collector {
	return &explain.Collector{URL: e.collector, Method: e.method, Target: rates.Target{
		Namespace: e.filter.Namespace, Service: e.filter.Service, Environment: e.filter.Environment, Version: e.version,
	}}
}
