package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
)

// The footer of a raw file contains the file's checksum. If a collector crashes between finishing the
// file and its manifest, the next start has nothing else to verify the file with. The checksum covers
// all bytes of the file, with the text unsealed in place of the checksum itself.
const (
	metaSeal = "corehour.checksum"
	unsealed = "crc32c:00000000"
)

// footerSumOffset returns the offset of the checksum in a footer, or -1 if it has none. Method names,
// and ids in the write group, can contain the same text, but they come before the checksum. It returns
// an error if the bytes around the expected place are not those of a checksum.
func footerSumOffset(footer []byte) (int, error) {
	at := bytes.LastIndex(footer, []byte(metaSeal))
	if at < 0 || at < bytes.LastIndex(footer, []byte(metaGroup)) {
		return -1, nil // a match before the write group is part of a name
	}
	at += len(metaSeal)
	// Before the value: its field and length. After it: the end of the key-value pair and the next field.
	const text = 0x18
	before, behind := []byte{text, byte(len(unsealed))}, []byte{0, text}
	place := at + len(before)
	if len(footer) < place+len(unsealed) || !bytes.HasPrefix(footer[at:], before) || !bytes.HasPrefix(footer[place+len(unsealed):], behind) {
		return -1, fmt.Errorf("the footer has no checksum after %q", metaSeal)
	}
	return place, nil
}

// writeFooterSum writes the checksum of a file into end, which is the footer and the bytes after it. sum
// is the checksum of all bytes before end.
func writeFooterSum(sum uint32, end []byte) error {
	at, err := footerSumOffset(end)
	if err != nil || at < 0 {
		return errors.Join(err, errors.New("the footer has no place for the checksum"))
	}
	copy(end[at:], FormatChecksum(crc32.Update(sum, castagnoli, end)))
	return nil
}

// CheckFooterSum verifies a raw file against the checksum in its footer. It fails if there is none.
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
