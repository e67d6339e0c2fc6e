// Package output writes the results of commands as text for a terminal, JSON, Markdown or CSV.
//
// Its invariant: names come from untrusted services, so no character of a name affects the terminal, the
// Markdown page, the spreadsheet or the line structure that it is written to (safe.go).
//
// It does not know the meaning of its contents: commands build a Document.
package output
