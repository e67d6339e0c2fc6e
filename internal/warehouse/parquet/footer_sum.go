package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
)

// A raw file says itself what its checksum is, since a start has nothing else to
// compare it with if the file was finished and its manifest was not. The checksum is
// that of all the file's bytes, with unsealed in its own place.
const (
	metaSeal = "corehour.checksum"
	unsealed = "crc32c:00000000"
)

// footerSumOffset is where a footer has its checksum; -1 if it has none. Names of methods, and
// ids in the write group, may spell the same, but they stand before it. It fails if there
// is something else in its place.
func footerSumOffset(footer []byte) (int, error) {
	at := bytes.LastIndex(footer, []byte(metaSeal))
	if at < 0 || at < bytes.LastIndex(footer, []byte(metaGroup)) {
		return -1, nil // it is a name, if anything
	}
	at += len(metaSeal)
	// The field of the value and its length, the value, the end of both and the next field.
	const text = 0x18
	before, behind := []byte{text, byte(len(unsealed))}, []byte{0, text}
	place := at + len(before)
	if len(footer) < place+len(unsealed) || !bytes.HasPrefix(footer[at:], before) || !bytes.HasPrefix(footer[place+len(unsealed):], behind) {
		return -1, fmt.Errorf("the footer has no checksum after %q", metaSeal)
	}
	return place, nil
}

// writeFooterSum writes the checksum into the end of a file, whose last bytes are the footer and
// what follows it. sum is that of what comes before.
func writeFooterSum(sum uint32, end []byte) error {
	at, err := footerSumOffset(end)
	if err != nil || at < 0 {
		return errors.Join(err, errors.New("the footer has no place for the checksum"))
	}
	copy(end[at:], FormatChecksum(crc32.Update(sum, castagnoli, end)))
	return nil
}

// CheckFooterSum compares a raw file with the checksum in its footer. It fails if there is none.
func CheckFooterSum(file []byte) error {
	end, err := readFooter(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	at, err := footerSumOffset(end)
	if err != nil {
		return err
	}
	if at < 0 {
		return fmt.Errorf("the footer has no %q", metaSeal)
	}
	sum := crc32.Checksum(file[:len(file)-len(end)+at], castagnoli)
	sum = crc32.Update(sum, castagnoli, []byte(unsealed))
	sum = crc32.Update(sum, castagnoli, end[at+len(unsealed):])
	if want := string(end[at:][:len(unsealed)]); FormatChecksum(sum) != want {
		return fmt.Errorf("its checksum is %s, and it was written with %q", FormatChecksum(sum), want)
	}
	return nil
}
