package methodfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/corehour/corehour/internal/configfile"
)

// kind is the type of a JSON value.
type kind string

const (
	kindObject kind = "an object"
	kindArray  kind = "an array"
	kindString kind = "a string"
	kindNumber kind = "a number"
	kindBool   kind = "true or false"
	kindNull   kind = "null"
)

// node is a JSON value that knows its line. The standard decoder's own trees
// forget lines and silently drop what an object says twice.
type node struct {
	kind    kind
	line    int
	text    string // of a string or a number
	truth   bool
	members []member // of an object or an array
}

type member struct {
	name  string // "" in an array
	value *node
}

// show is the value as it is printed in a warning.
func (n *node) show() string {
	switch n.kind {
	case kindString:
		return configfile.Quote(n.text)
	case kindNumber:
		if len(n.text) > 40 {
			return n.text[:40] + "..."
		}
		return n.text
	case kindBool:
		return fmt.Sprint(n.truth)
	default:
		return string(n.kind)
	}
}

const maxDepth = 16

// readTree reads exactly one JSON value.
func readTree(data []byte) (*node, error) {
	if bytes.HasPrefix(data, []byte("\xEF\xBB\xBF")) {
		return nil, errors.New("1:1: must not start with a byte order mark: save the file as plain UTF-8")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("must hold a JSON object, found an empty file")
	}
	for at := range string(data) {
		if r, size := utf8.DecodeRune(data[at:]); r == utf8.RuneError && size == 1 {
			return nil, fmt.Errorf("%s: must be UTF-8, found the byte 0x%02x", position(data, at), data[at])
		}
	}
	// The tokens below are more lenient than the grammar, so it is checked first.
	var all json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, syntaxError(data, err)
	}
	t := &treeReader{decoder: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}
	t.decoder.UseNumber()
	return t.value(0)
}

// syntaxError gives a fault of the grammar its place.
func syntaxError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	at := int(syntax.Offset) // bytes read, the offending one included
	if at < len(data) || syntax.Error() != "unexpected end of JSON input" {
		at--
	}
	return fmt.Errorf("%s: not JSON: %w", position(data, max(at, 0)), err)
}

// position is a place in the file as editors count it.
func position(data []byte, at int) string {
	before := data[:min(at, len(data))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("%d:%d", line, column)
}

// treeReader builds nodes from tokens.
type treeReader struct {
	decoder *json.Decoder
	data    []byte
	line    int // where counted is
	counted int
}

// token reads the next token and notes the line it ends in.
func (t *treeReader) token() (json.Token, error) {
	token, err := t.decoder.Token()
	if err != nil {
		return nil, err
	}
	at := int(t.decoder.InputOffset())
	t.line += bytes.Count(t.data[t.counted:at], []byte{'\n'})
	t.counted = at
	return token, nil
}

func (t *treeReader) value(depth int) (*node, error) {
	token, err := t.token()
	if err != nil {
		return nil, err
	}
	n := &node{line: t.line}
	switch token := token.(type) {
	case string:
		n.kind, n.text = kindString, token
	case json.Number:
		n.kind, n.text = kindNumber, token.String()
	case bool:
		n.kind, n.truth = kindBool, token
	case nil:
		n.kind = kindNull
	case json.Delim:
		if depth == maxDepth {
			return nil, fmt.Errorf("line %d: must not be nested deeper than %d levels", t.line, maxDepth)
		}
		n.kind = kindArray
		if token == '{' {
			n.kind = kindObject
		}
		return n, t.members(n, depth)
	}
	return n, nil
}

// members reads what is in an object or an array, and its end.
func (t *treeReader) members(n *node, depth int) error {
	for t.decoder.More() {
		var m member
		if n.kind == kindObject {
			name, err := t.token()
			if err != nil {
				return err
			}
			m.name = name.(string)
		}
		var err error
		if m.value, err = t.value(depth + 1); err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	_, err := t.token()
	return err
}
