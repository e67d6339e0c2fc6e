package rulefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ParseJSON reads a file that consists of one JSON object.
//
// JSON has a parser of its own although YAML contains most of it: a YAML parser refuses
// surrogate pairs (`\ud83d\ude00`) and keys of more than 1,024 characters, and its syntax
// errors name no column.
func ParseJSON(data []byte) (*Node, error) {
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
	if root.Kind != KindObject {
		return nil, fmt.Errorf("must hold a JSON object, found %s", root.Kind)
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

func (t *treeReader) value(depth int) (*Node, error) {
	token, err := t.token()
	if err != nil {
		return nil, err
	}
	n := &Node{Line: t.line}
	switch token := token.(type) {
	case string:
		n.Kind, n.Text = KindString, token
	case json.Number:
		n.Kind, n.Text = KindNumber, token.String()
		n.Number, _ = strconv.ParseFloat(n.Text, 64) // infinite with an error
	case bool:
		n.Kind, n.True = KindBool, token
	case nil:
		n.Kind = KindNull
	case json.Delim:
		if depth == maxDepth {
			return nil, errTooDeep(t.line)
		}
		n.Kind = KindList
		if token == '{' {
			n.Kind = KindObject
		}
		return n, t.members(n, depth)
	}
	return n, nil
}

// members reads the members of an object or a list, and its end.
func (t *treeReader) members(n *Node, depth int) error {
	for t.decoder.More() {
		var m Member
		if n.Kind == KindObject {
			key, err := t.token()
			if err != nil {
				return err
			}
			m.Key = key.(string)
		}
		m.Line = t.line
		var err error
		if m.Value, err = t.value(depth + 1); err != nil {
			return err
		}
		n.Members = append(n.Members, m)
	}
	_, err := t.token()
	return err
}
