package query

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank returns the number of bytes of leading white space and comments in a statement.
func (d dialect) blank(text string) int {
	i := 0
	for i < len(text) {
		n := d.blankPart(text[i:])
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// blankPart returns the length of the white space or the comment at the beginning of the text.
func (d dialect) blankPart(text string) int {
	switch r, size := utf8.DecodeRuneInString(text); {
	case unicode.IsSpace(r):
		return size
	case strings.HasPrefix(text, "--"), d.bigquery && r == '#':
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			return end + 1
		}
		return len(text)
	case strings.HasPrefix(text, "/*"):
		return d.commentLength(text)
	}
	return 0
}

// commentLength returns the length of a leading comment, or 0 if it is not closed.
func (d dialect) commentLength(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			if depth == 0 || !d.bigquery {
				depth++
			}
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// afterWord returns the text after the given word, if the statement begins with it.
func (d dialect) afterWord(text, word string) (rest string, found bool) {
	text = text[d.blank(text):]
	if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) {
		return text, false
	}
	rest = text[len(word):]
	if next, _ := utf8.DecodeRuneInString(rest); inWord(next) {
		return text, false
	}
	return rest, true
}

func inWord(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// body returns a statement without trailing semicolons, comments and white space.
func (d dialect) body(text string) string {
	end := 0
	for i := 0; i < len(text); {
		if n := d.blankPart(text[i:]); n > 0 {
			i += n
			continue
		}
		n := d.tokenLength(text, i)
		if text[i] != ';' {
			end = i + n
		}
		i += n
	}
	return text[:end]
}

var dollarQuote = regexp.MustCompile(`^\$\w*\$`)

// tokenLength returns the length of the token at i: a quoted text, a word, or one character.
func (d dialect) tokenLength(text string, i int) int {
	rest := text[i:]
	if quote := dollarQuote.FindString(rest); quote != "" && !d.bigquery {
		return quotedLength(rest, quote, false)
	}
	word := strings.IndexFunc(rest, func(r rune) bool { return !inWord(r) })
	if word < 0 {
		return len(rest)
	}
	switch quote := rest[word]; {
	case quote == '\'', quote == '"', quote == '`':
		// In E'it\'s' a backslash escapes; in BigQuery it does so in every text.
		escapes := d.bigquery || strings.EqualFold(rest[:word], "E")
		return word + quotedLength(rest[word:], d.quote(rest[word:]), escapes)
	case word == 0:
		_, size := utf8.DecodeRuneInString(rest)
		return size
	}
	return word
}

// quote returns the delimiter of the quoted text at the beginning, or "".
func (d dialect) quote(text string) string {
	if quote := text[:1]; d.bigquery && strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		return text[:3]
	}
	return text[:1]
}

// quotedLength returns the length of a quoted text, or all of the remaining length if it is not closed. A text
// with two quotes that stand for one counts as two adjacent texts.
func quotedLength(text, quote string, escapes bool) int {
	for i := len(quote); i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		}
	}
	return len(text)
}
