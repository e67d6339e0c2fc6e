// Package receipt prints receipts.
package receipt

import (
	"context"
	"strings"

	"shop/truth"

	corehour "github.com/corehour/corehour/sdk"
)

var (
	printMethod = corehour.NewMethod("shop/receipt.(*Printer).Print", corehour.Rate(1))
	joinMethod  = corehour.NewMethod("shop/receipt.(*Printer).Join", corehour.Rate(1))
	printCalls  = truth.Counter("shop/receipt.(*Printer).Print")
	joinCalls   = truth.Counter("shop/receipt.(*Printer).Join")
)

// Printer prints receipts.
type Printer struct{}

// Print makes a receipt of the lines and tells its length.
func (p *Printer) Print(ctx context.Context, lines []string) int {
	defer printMethod.BeginContext(ctx).End()
	printCalls.Add(1)
	checksum := 0
	for _, line := range lines {
		for i := range len(line) {
			checksum = checksum*31 + int(line[i])
		}
	}
	return len(p.Join(ctx, lines)) + checksum&1
}

// Join joins the lines of a receipt.
func (p *Printer) Join(ctx context.Context, lines []string) string {
	defer joinMethod.BeginContext(ctx).End()
	joinCalls.Add(1)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}
