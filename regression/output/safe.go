package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces characters that affect a terminal instead of being shown: control characters,
// marks that reorder or hide text, and bytes that are not UTF-8.
func Printable(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !acts(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.String()
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// acts reports whether a rune is not shown as itself: controls (Cc), formats such as bidirectional overrides and
// zero-width marks (Cf), line and paragraph separators, surrogates and private use.
func acts(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp)
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "~", `\~`, "!", `\!`, "://", ":&#47;/")

// Markdown escapes a name so that it contains no markup.
func Markdown(s string) string { return markdownEscapes.Replace(Printable(s)) }

// csvField escapes a name so that a spreadsheet does not read it as a formula.
func csvField(s string) string {
	s = Printable(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// maxSlack bounds a name in a message, in characters.
const maxSlack = 200

var slackEscapes = strings.NewReplacer("`", "'", "&", "&amp;", "<", "&lt;", ">", "&gt;")

// SlackCode formats a name as code in Slack's mrkdwn, so that it contains no markup, link or mention.
func SlackCode(s string) string {
	s = Printable(s)
	if utf8.RuneCountInString(s) > maxSlack {
		s = string([]rune(s)[:maxSlack]) + "..."
	}
	if strings.TrimSpace(s) == "" {
		s = "?" // two adjacent backticks are not code
	}
	return "`" + slackEscapes.Replace(s) + "`"
}
