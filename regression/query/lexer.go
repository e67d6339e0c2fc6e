package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank is how many bytes of space and comments a statement begins with.
func blank(text string) int {
	i := 0
	for i < len(text) {
		n := blankPart(text[i:])
		if n == 0 {
			break
		}
		i += n
	}
	return i
}

// blankPart is the length of the space or the comment at the beginning of the text.
func blankPart(text string) int {
	switch r, size := utf8.DecodeRuneInString(text); {
	case unicode.IsSpace(r):
		return size
	case strings.HasPrefix(text, "--"):
		if end := strings.IndexByte(text, '\n'); end >= 0 {
			return end + 1
		}
		return len(text)
	case strings.HasPrefix(text, "/*"):
		return commentLength(text)
	}
	return 0
}

// commentLength is 0 for a comment that is not closed. There may be comments in it.
func commentLength(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
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

// afterWord is what follows the word that a statement must begin with.
func afterWord(text, word string) (rest string, found bool) {
	text = text[blank(text):]
	if len(text) < len(word) || !strings.EqualFold(text[:len(word)], word) {
		return text, false
	}
	rest = text[len(word):]
	next, _ := utf8.DecodeRuneInString(rest)
	if next == '_' || next == '$' || unicode.IsLetter(next) || unicode.IsDigit(next) {
		return text, false
	}
	return rest, true
}
