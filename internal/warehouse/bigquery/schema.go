package bigquery

import (
	"sync"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/corehour/corehour/internal/columns"
)

// descriptor describes the encoded rows for the service. The first request of every connection
// carries it.
var descriptor = sync.OnceValue(func() *descriptorpb.DescriptorProto { return messageDescriptor("MethodCall", columns.All) })

func messageDescriptor(name string, fields []columns.Column) *descriptorpb.DescriptorProto {
	d := &descriptorpb.DescriptorProto{Name: proto.String(name)}
	for i, c := range fields {
		f := &descriptorpb.FieldDescriptorProto{
			Name:   proto.String(c.Name),
			Number: proto.Int32(int32(i + 1)),
			Label:  descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		switch c.Type {
		case columns.List:
			nested := messageDescriptor("T_"+c.Name, c.Fields)
			d.NestedType = append(d.NestedType, nested)
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
			f.TypeName = nested.Name
		case columns.Date:
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum() // days since 1970
		case columns.Int64, columns.Int32:
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_INT64.Enum()
		case columns.Double:
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_DOUBLE.Enum()
		case columns.Boolean:
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum()
		case columns.Bytes8, columns.Bytes16:
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()
		default:
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum()
		}
		d.Field = append(d.Field, f)
	}
	return d
}

// writerSchema is the encoded descriptor.
var writerSchema = sync.OnceValue(func() []byte {
	b, err := proto.Marshal(&storagepb.ProtoSchema{ProtoDescriptor: descriptor()})
	if err != nil { // nothing in it can be refused
		panic(err)
	}
	return b
})
