package table

import (
	"context"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// AddPreaggregated adds a file of the sums of files of a date, in one commit. They go
// on to count, and readers may take the sums in their stead. The sums go with the first
// of these files that goes. A date has one file of sums: the one before is taken out.
// Without rows there is none, and the one before stays. The file is of KindPreaggregated.
func (m *Maintainer) AddPreaggregated(ctx context.Context, date string, of []parquet.File, o Output, produce func(add func(*methodspan.Row) error) error) (parquet.File, error) {
	o.Kind = KindPreaggregated
	add := func(s *parquet.Stream) error { return produce(s.AddRow) }
	return m.make(ctx, date, of, o, add, func(date string, of []parquet.File, made fileEntry) error {
		if made.Rows == 0 {
			return nil
		}
		return m.setSums(date, of, made)
	})
}

// WithoutSums notes that sums of these files of a date are not worth keeping, until the first
// of them goes. Sums that the date had are taken out.
func (m *Maintainer) WithoutSums(date string, of []parquet.File) error {
	return m.setSums(date, of, fileEntry{})
}

func (m *Maintainer) setSums(date string, of []parquet.File, made fileEntry) error {
	sums := &sumsEntry{fileEntry: made}
	for _, f := range of {
		sums.Of = append(sums.Of, m.below(f.Path))
	}
	now := m.opts.Now()
	sums.Committed = now.UTC()
	return m.publishSettled(now, func(t *commit, next *state) error {
		before, files, err := next.loadFiles(m.root, date)
		if err != nil {
			return err
		}
		ref, manifest := before.ref, before.manifest.clone()
		manifest.Sums = sums
		if manifest.preaggregated(files) == nil {
			return m.changed(date)
		}
		if former := before.manifest.Sums; former.kept() {
			if err := t.doom(next, now.Add(m.grace(next)), []string{former.Path}); err != nil {
				return err
			}
		}
		ref.count(files, sums)
		return t.setDate(next, before, ref, manifest)
	}, func() (bool, error) {
		d, err := m.state.load(m.root, date)
		return err == nil && d.manifest.Sums != nil && d.manifest.Sums.Path == made.Path && slices.Equal(d.manifest.Sums.Of, sums.Of), err
	})
}

// DropSums takes out the rollups of the files of dates, in one commit.
func (m *Maintainer) DropSums(dates []Date) error {
	now := m.opts.Now()
	return m.publishSettled(now, func(t *commit, next *state) error {
		var taken []string
		for _, d := range dates {
			before, err := next.load(m.root, d.Date)
			if err != nil {
				return err
			}
			if !before.manifest.Sums.kept() {
				continue
			}
			taken = append(taken, before.manifest.Sums.Path)
			ref, manifest := before.ref, before.manifest.clone()
			ref.SumsBytes, manifest.Sums = 0, nil
			if err := t.setDate(next, before, ref, manifest); err != nil {
				return err
			}
		}
		return t.doom(next, now.Add(m.grace(next)), taken)
	}, func() (bool, error) {
		for _, d := range dates {
			now, err := m.state.load(m.root, d.Date)
			if err != nil || now.manifest.Sums.kept() {
				return false, err
			}
		}
		return true, nil
	})
}
