// Package output writes what commands found: as text for a terminal, JSON,
// Markdown or CSV.
//
// Its invariant: names come from services that nobody vouches for, so no
// character of a name acts on the terminal, the Markdown page, the spreadsheet or
// the line structure it ends up in (safe.go).
//
// It does not know what it writes: commands build a Document.
package output
