// Package receipt prints receipts.
package receipt

import (
	"strings"

	"shop/truth"
)

var (
	printCalls = truth.Counter("shop/receipt.(*Printer).Print")
	joinCalls  = truth.Counter("shop/receipt.(*Printer).Join")
)

// Printer prints receipts.
type Printer struct{}

// Print formats a receipt of the lines and returns its length.
func (p *Printer) Print(lines []string) int {
	printCalls.Add(1)
	checksum := 0
	for _, line := range lines {
		for i := range len(line) {
			checksum = checksum*31 + int(line[i])
		}
	}
	return len(p.Join(lines)) + checksum&1
}

// Join joins the lines of a receipt.
func (p *Printer) Join(lines []string) string {
	joinCalls.Add(1)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}
