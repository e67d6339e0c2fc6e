package rulefile

import (
	"fmt"

	"github.com/corehour/corehour/internal/configfile"
)

// Kind is the type of a value, in the words that messages use.
type Kind string

const (
	KindObject Kind = "an object"
	KindList   Kind = "a list"
	KindString Kind = "a string"
	KindNumber Kind = "a number"
	KindBool   Kind = "true or false"
	KindNull   Kind = "null"
)

// Node is a value of a file with the line that it starts in. Unlike a decoded map it keeps
// duplicate keys.
type Node struct {
	Kind    Kind
	Line    int
	Text    string  // of a string; of a number as it is written
	Number  float64 // of a number; infinite if it exceeds the range of float64
	True    bool    // of a boolean
	Members []Member
}

// Member is a key of an object and its value, or an item of a list.
type Member struct {
	Key   string // empty in a list
	Line  int    // of the key
	Value *Node
}

// Show returns the value as messages print it.
func (n *Node) Show() string {
	switch n.Kind {
	case KindString:
		return configfile.Quote(n.Text)
	case KindNumber:
		if len(n.Text) > 40 {
			return n.Text[:40] + "..."
		}
		return n.Text
	case KindBool:
		return fmt.Sprint(n.True)
	default:
		return string(n.Kind)
	}
}

// maxDepth bounds how deep lists and objects are nested.
const maxDepth = 16

func errTooDeep(line int) error {
	return fmt.Errorf("line %d: must not be nested deeper than %d levels", line, maxDepth)
}
