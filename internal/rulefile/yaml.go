package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// maxAliased bounds the nodes below aliases: a few lines of nested aliases expand to billions.
const maxAliased = 100_000

// ParseYAML reads a file that consists of one YAML document, a mapping.
func ParseYAML(data []byte) (*Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, errors.New("must hold a YAML mapping, found an empty file")
	} else if err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := decoder.Decode(new(yaml.Node)); err == nil {
		return nil, errors.New("must hold one YAML document, found several")
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, errors.New("must hold a YAML mapping, found none")
	}
	var c yamlConverter
	root, err := c.node(document.Content[0], 0, false)
	if err != nil {
		return nil, err
	}
	if root.Kind != KindObject {
		return nil, fmt.Errorf("must hold a YAML mapping, found %s", root.Kind)
	}
	return root, nil
}

type yamlConverter struct {
	aliased int // nodes below aliases so far
}

func (c *yamlConverter) node(y *yaml.Node, depth int, aliased bool) (*Node, error) {
	line := y.Line
	if y.Kind == yaml.AliasNode {
		y, aliased = y.Alias, true
	}
	if aliased {
		if c.aliased++; c.aliased > maxAliased {
			return nil, fmt.Errorf("line %d: aliases must not expand to more than %d values", line, maxAliased)
		}
	}
	n := &Node{Line: line}
	if y.Kind == yaml.ScalarNode {
		n.setScalar(y)
		return n, nil
	}
	if depth == maxDepth {
		return nil, errTooDeep(line)
	}
	step := 1
	n.Kind = KindList
	if y.Kind == yaml.MappingNode {
		n.Kind, step = KindObject, 2
	}
	for i := 0; i+step <= len(y.Content); i += step {
		m := Member{Line: y.Content[i].Line}
		if n.Kind == KindObject {
			key, err := c.node(y.Content[i], depth+1, aliased)
			if err != nil {
				return nil, err
			}
			m.Key = key.Text
			if key.Kind != KindString {
				m.Key = key.Show()
			}
		}
		var err error
		if m.Value, err = c.node(y.Content[i+step-1], depth+1, aliased); err != nil {
			return nil, err
		}
		n.Members = append(n.Members, m)
	}
	return n, nil
}

// setScalar sets the value of a scalar. One that contradicts its tag, such as `!!float x`, is
// a string.
func (n *Node) setScalar(y *yaml.Node) {
	n.Kind, n.Text = KindString, y.Value
	switch y.ShortTag() {
	case "!!null":
		n.Kind = KindNull
	case "!!bool":
		if y.Decode(&n.True) == nil {
			n.Kind = KindBool
		}
	case "!!int", "!!float":
		if y.Decode(&n.Number) == nil {
			n.Kind = KindNumber
		}
	}
}
