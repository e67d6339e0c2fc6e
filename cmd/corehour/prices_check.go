package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/pricebook"
	"github.com/corehour/corehour/regression/cost"
)

func newPricesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prices check [flags]",
		Short: "Check which price each machine has, and which has none",
		Long: `Lists the price of each kind of machine that processes ran on, and what matched it: an entry of the
price book, its default or a public list price (generic). Machines without a price are listed with
their hosts. Prices are those that rows were stored with; --config shows those that a price book
would give, and its entries that match no machine. See docs/guides/cost.md.`,
		Example: `  corehour prices check --since 24h
  corehour prices check --config prices.yaml`,
		Annotations: exits("0 every machine has a price\n1 a machine has no price\n2 failed\n3 no data"),
	}
	c := newCommon(cmd, "24h")
	config := c.flags.String("config", "", "price book (`file`) to use instead of the stored prices")
	var top topFlags
	top.declare(c.flags, "how many kinds of machines, and unpriced hosts, to print; json and csv have all of them")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return []string{"check"}[min(1, len(args)):], cobra.ShellCompDirectiveNoFileComp
	}
	return withWork(cmd, func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		c.notices = stderr
		if err := c.checkVerb(); err != nil {
			return exitFailed, err
		}
		if err := c.checkFlags(func() error { return top.check(c.flags) }); err != nil {
			return exitFailed, err
		}
		return c.checkPrices(ctx, *config, top.lines, stdout, stderr)
	})
}

// checkVerb checks the arguments of prices. The verb can be omitted if there are flags.
func (c *common) checkVerb() error {
	args := c.flags.Args()
	switch {
	case len(args) == 0 && c.flags.NFlag() == 0:
		return errors.New("want a verb: corehour prices check")
	case len(args) > 0 && args[0] != "check":
		return fmt.Errorf("want corehour prices check, found the verb %q", args[0])
	case len(args) > 1:
		return fmt.Errorf("want flags only, found the argument %q", args[1])
	}
	return nil
}

func (c *common) checkPrices(ctx context.Context, config string, top int, stdout, stderr io.Writer) (int, error) {
	var book *pricebook.Book
	var warnings []configfile.Warning
	if err := loadRules("--config", config, pricebook.Parse, &book, &warnings); err != nil {
		return exitFailed, err
	}
	for _, w := range warnings {
		fmt.Fprintf(stderr, "corehour prices check: --config %s: %v\n", config, w)
	}
	w, err := c.open(ctx, c.window)
	if err != nil {
		return exitFailed, err
	}
	defer w.Close()
	hosts, all, err := w.Priced(ctx, c.window, c.filter)
	if err != nil {
		return exitFailed, err
	}
	if len(hosts) == 0 {
		return exitFailed, c.nothing(ctx, w)
	}
	answer := cost.MachinesOf(hosts, book)
	answer.Complete = all
	code := exitNothing
	if len(answer.UnpricedHosts) > 0 {
		code = exitFound
	}
	return code, c.write(stdout, answer.Document(top))
}
