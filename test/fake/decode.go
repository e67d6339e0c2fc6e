package fake

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
)

// describe builds a message type from the descriptor in a request.
func describe(d *descriptorpb.DescriptorProto) (protoreflect.MessageDescriptor, error) {
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("rows.proto"), Syntax: proto.String("proto2"), MessageType: []*descriptorpb.DescriptorProto{qualified(d)},
	}, nil)
	if err != nil {
		return nil, err
	}
	return file.Messages().Get(0), nil
}

// qualified resolves the names of nested types, as the service does.
func qualified(d *descriptorpb.DescriptorProto) *descriptorpb.DescriptorProto {
	d = proto.CloneOf(d)
	for _, f := range d.GetField() {
		if f.TypeName != nil && !strings.HasPrefix(f.GetTypeName(), ".") {
			f.TypeName = proto.String("." + d.GetName() + "." + f.GetTypeName())
		}
	}
	return d
}

// unknownField returns the name of a field for which the table has no column, or "".
func unknownField(schema protoreflect.MessageDescriptor, table *bigquery.Schema) string {
	fields := schema.Fields()
	for i := range fields.Len() {
		if columnOf(table.Fields, string(fields.Get(i).Name())) == nil {
			return string(fields.Get(i).Name())
		}
	}
	return ""
}

func columnOf(list []bigquery.Field, name string) *bigquery.Field {
	for i := range list {
		if strings.EqualFold(list[i].Name, name) {
			return &list[i]
		}
	}
	return nil
}

// decode returns all rows, or the errors of the rows that it cannot decode or that Refuse rejects.
func (s *Server) decode(encoded [][]byte, schema protoreflect.MessageDescriptor, table *bigquery.Schema) ([]Row, []*storagepb.RowError) {
	var rows []Row
	var faults []*storagepb.RowError
	for i, data := range encoded {
		m := dynamicpb.NewMessage(schema)
		var row Row
		err := proto.Unmarshal(data, m)
		if err == nil {
			row, err = rowOf(m, table.Fields)
		}
		if err == nil && s.Refuse != nil {
			if why := s.Refuse(row); why != "" {
				err = fmt.Errorf("%s", why)
			}
		}
		if err != nil {
			faults = append(faults, &storagepb.RowError{Index: int64(i), Code: storagepb.RowError_FIELDS_ERROR, Message: err.Error()})
			continue
		}
		rows = append(rows, row)
	}
	return rows, faults
}

func rowOf(m protoreflect.Message, table []bigquery.Field) (Row, error) {
	row := Row{}
	if len(m.GetUnknown()) > 0 {
		return nil, fmt.Errorf("the row has fields that the writer schema lacks")
	}
	for _, c := range table {
		f := m.Descriptor().Fields().ByName(protoreflect.Name(c.Name))
		switch {
		case f == nil || !m.Has(f):
			if c.Mode == "REQUIRED" {
				return nil, fmt.Errorf("the required column %s is missing", c.Name)
			}
			row[c.Name] = nil
		case f.IsList():
			list := m.Get(f).List()
			values := make([]any, list.Len())
			for i := range values {
				element, err := rowOf(list.Get(i).Message(), c.Fields)
				if err != nil {
					return nil, err
				}
				values[i] = element
			}
			row[c.Name] = values
		default:
			v, err := valueOf(m.Get(f).Interface(), c)
			if err != nil {
				return nil, err
			}
			row[c.Name] = v
		}
	}
	return row, nil
}

func valueOf(v any, c bigquery.Field) (any, error) {
	fits := false
	switch x := v.(type) {
	case int32:
		if c.Type == "DATE" {
			return time.Unix(int64(x)*86400, 0).UTC().Format(time.DateOnly), nil
		}
	case int64:
		fits = c.Type == "INTEGER"
	case float64:
		fits = c.Type == "FLOAT"
	case bool:
		fits = c.Type == "BOOLEAN"
	case []byte:
		fits = c.Type == "BYTES"
	case string:
		fits = c.Type == "STRING"
		if !utf8.ValidString(x) {
			return nil, fmt.Errorf("the column %s is no valid UTF-8", c.Name)
		}
	}
	if !fits {
		return nil, fmt.Errorf("the column %s is a %s and can't hold a %T", c.Name, c.Type, v)
	}
	return v, nil
}
