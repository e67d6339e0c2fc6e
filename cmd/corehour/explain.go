package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/verdict"
)

const explainUsage = `Says all that is known of one method. From the warehouse: the versions that were seen,
how their calls were sampled, what the method costs and how well that is known, the
verdict on the newest version with every condition of an alert and the one that
decided, drift, and what people said of it.

With --collector why it is sampled as it is: the rule that speaks of it, what it is
taken for, its traffic, how much its calls differ, the rate asked for and the rate of
the records that arrive, and what more records would buy. The sampler of a running
collector knows; its extension sampling_rates is asked, as at http://localhost:4319. A
method that nothing has arrived from is answered too, with the rate it would have. The
warehouse is read beside it if --warehouse is given.

METHOD is a full name as the program spells it, shop/cart.(*Cart).Total, or as
reports do, shop/cart.Cart.Total; of the warehouse the end of it will do, as Cart.Total,
if one method has it. Of several environments each is explained.`

// explainFlags are the flags of explain beside the common ones.
type explainFlags struct {
	*common
	collector, version, method string
	options                    verdict.Options
	times                      evidenceFlags
	delivery                   deliverFlags
}

// explainAnswer is the JSON form.
type explainAnswer struct {
	*explanations
	Methods []account `json:"methods,omitempty"`
}

func runExplain(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	e, err := parseExplain(args, stdout)
	if err != nil {
		return exitFailed, err
	}
	e.notices = stderr
	var answer explainAnswer
	document := &output.Document{}
	if e.collector != "" {
		if answer.explanations, err = askExplanations(ctx, e); err != nil {
			return exitFailed, err
		}
		if len(answer.Explanations) == 0 {
			return exitCannotTell, fmt.Errorf("%w: the sampler says nothing of %s of %s", query.ErrNoData, e.method, e.filter.Service)
		}
		document = explainDocument(answer.explanations)
	}
	if e.collector == "" || given(e.flags, "warehouse") {
		if err := e.delivery.prepare(e.warehouse, 0, stderr, "explain"); err != nil {
			return exitFailed, err
		}
		if answer.Methods, err = e.readAccounts(ctx); err != nil {
			return exitFailed, err
		}
		for i := range answer.Methods {
			answer.Methods[i].add(document, e.zone)
		}
	}
	document.Data = answer
	return exitNothing, e.write(stdout, document)
}

func parseExplain(args []string, stdout io.Writer) (*explainFlags, error) {
	e := &explainFlags{common: newCommon("explain", " METHOD", explainUsage, "7d", stdout)}
	f := e.flags
	f.Lookup("format").Usage = "text, json or markdown"
	f.StringVar(&e.collector, "collector", "", "ask the extension sampling_rates of the collector at this `URL`, as http://localhost:4319")
	f.StringVar(&e.version, "version", "", "only this version (`name`)")
	e.times.declare(f)
	f.StringVar(&e.delivery.silences, "silences", "", "`file` of alerts that are silenced for a while")
	e.delivery.declareState(f)
	e.delivery.timeout = grace
	// The method may stand before the flags, between them or behind.
	var methods []string
	for rest := args; ; {
		if err := parseFlags(f, rest); err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			break
		}
		methods, rest = append(methods, f.Arg(0)), f.Args()[1:]
	}
	return e, e.parse(nil, func() error { return e.check(methods) })
}

func (e *explainFlags) check(methods []string) error {
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
	e.options.ThresholdPercent, e.options.MinRecords = leastChange, leastRecords
	faults = append(faults, e.times.check(e.flags, &e.options))
	if e.collector != "" {
		if e.filter.Service == "" {
			faults = append(faults, errors.New("--service: want the name of the service for a --collector, found nothing"))
		}
		_, err := explainURL(e)
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// target is what the collector is asked of.
func (e *explainFlags) target() rates.Target {
	return rates.Target{Namespace: e.filter.Namespace, Service: e.filter.Service, Environment: e.filter.Environment, Version: e.version}
}
