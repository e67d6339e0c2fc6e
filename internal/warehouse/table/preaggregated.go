package table

import (
	"context"
	"slices"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// AddPreaggregated adds a pre-aggregated rollup of files of a date, in one commit. The files stay live;
// readers can read the rollup instead of them. The rollup is removed with the first of these files that is
// removed. A date has at most one rollup: a new one replaces the previous one. If produce passes no rows,
// no file is added and the previous rollup stays. The file is of KindPreaggregated.
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

// WithoutSums records that a rollup of these files of a date is not worth keeping. The record is valid
// until the first of the files is removed. An existing rollup of the date is removed.
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

// DropSums removes the pre-aggregated rollups of dates, in one commit.
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
