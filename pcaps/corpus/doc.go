// Package corpus reads captures by the thousand: it lists directories and object stores, reads each
// object as a stream on all processors, and writes what was found as tables.
//
// # Usage
//
//	objects, err := corpus.List(ctx, []string{"captures", "s3://bucket/2026/**/*.pcap.gz"}, options)
//	tables, err := corpus.OpenTables(ctx, "tables", options, files, connections, episodes)
//	err = tasks.Each(ctx, len(objects), workers, func(ctx context.Context, i int) error {
//		r, err := objects[i].Open(ctx) // a stream; it survives broken connections
//		part := tables.Begin(&objects[i])
//		part.Add(connections, record)
//		part.SetRow(row)
//		return part.Commit(ctx, day, false)
//	})
//
// # Stores
//
// A name without a scheme is a path. file:// is one too; other schemes are those of Options.Stores.
// The command tcpwheel-corpus, a module of its own, has S3, Google Cloud Storage, Azure Blob
// Storage, and Parquet.
//
// # Tables
//
// Every object has one part in each table that has rows of it: TABLE/day=2026-01-02/ID.jsonl. Day
// is the day (UTC) of the first packet. ID has a hash of the object's name, and one of its size and
// tag. A part is complete or absent. The part of the manifest, the first table, is written last: an
// object with one is done. Columns have the names and units of the JSON records.
//
// # Concurrency
//
// Objects, Tables and Progress may be used by several goroutines at once, a Part by one.
//
// # Limitations
//
// The list of objects is the one of the start. Tables of one directory are for one version of the
// program: another one skips what is done, whatever it would find.
package corpus
