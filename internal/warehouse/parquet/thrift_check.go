package parquet

import (
	"encoding/binary"
	"errors"
)

// Types of Thrift's compact protocol, which encodes footers and page headers.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI8     = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12

	// thriftDepth is an upper bound of the nesting in a file.
	thriftDepth = 32
)

var errThrift = errors.New("its description is damaged")

// checkThrift returns the length in bytes of the struct at the beginning of data. It fails if the length
// of any part exceeds the data, because the library allocates memory of that length before it finds
// that there is less.
func checkThrift(data []byte) (int, error) {
	s := thriftChecker{data: data}
	if !s.structure(0) {
		return 0, errThrift
	}
	return s.at, nil
}

type thriftChecker struct {
	data []byte
	at   int
}

func (s *thriftChecker) structure(depth int) bool {
	for depth < thriftDepth {
		head, ok := s.byte()
		if !ok || head == 0 {
			return ok
		}
		if head>>4 == 0 { // the field number follows
			if _, ok := s.varint(); !ok {
				return false
			}
		}
		kind := head & 0xf
		if kind == thriftTrue || kind == thriftFalse {
			continue // the type is the value
		}
		if !s.value(kind, depth) {
			return false
		}
	}
	return false
}

func (s *thriftChecker) value(kind byte, depth int) bool {
	switch kind {
	case thriftTrue, thriftFalse, thriftI8:
		return s.pass(1)
	case thriftI16, thriftI32, thriftI64:
		_, ok := s.varint()
		return ok
	case thriftDouble:
		return s.pass(8)
	case thriftBinary:
		n, ok := s.varint()
		return ok && s.pass(n)
	case thriftList, thriftSet:
		head, ok := s.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n, ok = s.varint()
		}
		return ok && s.values(n, depth, head&0xf)
	case thriftMap:
		n, ok := s.varint()
		if !ok || n == 0 {
			return ok
		}
		kinds, ok := s.byte()
		return ok && s.values(n, depth, kinds>>4, kinds&0xf)
	case thriftStruct:
		return s.structure(depth + 1)
	}
	return false
}

// values skips n elements, each of at least one byte.
func (s *thriftChecker) values(n uint64, depth int, kinds ...byte) bool {
	if n > uint64(len(s.data)-s.at) || depth >= thriftDepth {
		return false
	}
	for range n {
		for _, kind := range kinds {
			if !s.value(kind, depth+1) {
				return false
			}
		}
	}
	return true
}

func (s *thriftChecker) byte() (byte, bool) {
	if s.at >= len(s.data) {
		return 0, false
	}
	s.at++
	return s.data[s.at-1], true
}

func (s *thriftChecker) pass(n uint64) bool {
	if n > uint64(len(s.data)-s.at) {
		return false
	}
	s.at += int(n)
	return true
}

func (s *thriftChecker) varint() (uint64, bool) {
	n, size := binary.Uvarint(s.data[s.at:])
	if size <= 0 {
		return 0, false
	}
	s.at += size
	return n, true
}
