package methodfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// kind is the type of a JSON value, in the words that messages use.
type kind string

const (
	kindObject kind = "an object"
	kindList   kind = "a list"
	kindString kind = "a string"
	kindNumber kind = "a number"
	kindBool   kind = "true or false"
	kindNull   kind = "null"
)

// node is a JSON value with the line that it starts in. Unlike a decoded map it keeps
// duplicate keys.
type node struct {
	kind    kind
	line    int
	text    string  // of a string; of a number as it is written
	number  float64 // of a number; infinite if it exceeds the range of float64
	truth   bool
	members []member
}

// member is a key of an object and its value, or an item of a list.
type member struct {
	key   string // empty in a list
	line  int    // of the key
	value *node
}

// show returns the value as messages print it.
func (n *node) show() string {
	switch n.kind {
	case kindString:
		return quote(n.text)
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

// maxDepth bounds how deep lists and objects are nested.
const maxDepth = 16

// readTree reads a file that consists of one JSON object.
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
	// The decoder's tokens are more lenient than the grammar, so the grammar is checked first.
	var all json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, syntaxError(data, err)
	}
	t := &treeReader{decoder: json.NewDecoder(bytes.NewReader(data)), data: data, line: 1}
	t.decoder.UseNumber()
	root, err := t.value(0)
	if err != nil {
		return nil, err
	}
	if root.kind != kindObject {
		return nil, fmt.Errorf("must hold a JSON object, found %s", root.kind)
	}
	return root, nil
}

// syntaxError adds the position to a syntax error of package json.
func syntaxError(data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	at := int(syntax.Offset) // bytes read, including the offending one
	if at < len(data) || syntax.Error() != "unexpected end of JSON input" {
		at--
	}
	return fmt.Errorf("%s: not JSON: %w", position(data, max(at, 0)), err)
}

// position returns line:column of an offset, as editors count them.
func position(data []byte, offset int) string {
	before := data[:min(offset, len(data))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("%d:%d", line, column)
}

// treeReader builds nodes from JSON tokens.
type treeReader struct {
	decoder *json.Decoder
	data    []byte
	line    int // of the end of the last token
	counted int // bytes of data whose lines are in line
}

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
		n.number, _ = strconv.ParseFloat(n.text, 64) // infinite with an error
	case bool:
		n.kind, n.truth = kindBool, token
	case nil:
		n.kind = kindNull
	case json.Delim:
		if depth == maxDepth {
			return nil, fmt.Errorf("line %d: must not be nested deeper than %d levels", t.line, maxDepth)
		}
		n.kind = kindList
		if token == '{' {
			n.kind = kindObject
		}
		return n, t.members(n, depth)
	}
	return n, nil
}

// members reads the members of an object or a list, and its end.
func (t *treeReader) members(n *node, depth int) error {
	for t.decoder.More() {
		var m member
		if n.kind == kindObject {
			key, err := t.token()
			if err != nil {
				return err
			}
			m.key = key.(string)
		}
		m.line = t.line
		var err error
		if m.value, err = t.value(depth + 1); err != nil {
			return err
		}
		n.members = append(n.members, m)
	}
	_, err := t.token()
	return err
}
