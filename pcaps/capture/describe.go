package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// head is a header of a packet that Describe lists.
type head struct {
	kind gopacket.LayerType // 0 if gopacket has no decoder
	name string             // if kind is 0
	b    []byte             // from the header on
}

// note notes a header for Describe.
func (d *decoder) note(kind gopacket.LayerType, b []byte) {
	if d.heads != nil {
		*d.heads = append(*d.heads, head{kind: kind, b: b})
	}
}

// noteOurs notes a header that gopacket does not know.
func (d *decoder) noteOurs(name string) {
	if d.heads != nil {
		*d.heads = append(*d.heads, head{name: name})
	}
}

// Describe returns a line for each header of a packet, the outermost first, with the fields that
// gopacket finds in it: "TCP: src port 40000, dst port 80(http), seq 1000, …". Fields of value 0
// are left out, but for sequence numbers and windows. Of a header that the capture cut, the line
// has the fields that are there. Number of data bytes and reasons for no segment come last.
//
// It needs some 10 µs, and never panics.
func Describe(f *Frame) (lines []string) {
	var heads []head
	d := decoder{p: &Packet{Number: 1}, heads: &heads, headers: newHeaders()}
	d.headers.reuse(&layers.IPv4{}, &layers.IPv6{}, &layers.UDP{}, &layers.TCP{})
	data := f.Data[:len(f.Data):len(f.Data)]
	got := d.link(f.LinkType, data, max(int(f.Length), len(data)))
	for i := range heads {
		lines = append(lines, d.headers.describe(&heads[i], int(f.Length) > len(data)))
	}
	switch {
	case got != isTCP:
		lines = append(lines, "no TCP segment: "+got.String())
	case d.p.Len > 0:
		lines = append(lines, fmt.Sprintf("%d bytes of data, %d captured", d.p.Len, len(d.p.Payload)))
	}
	return lines
}

// Describe returns what Describe finds in packets of a capture, by their numbers. It reads the
// capture up to the last of them; nothing must have been read before. With an error it returns what
// it has found.
func (r *Reader) Describe(numbers ...int64) (map[int64][]string, error) {
	found := map[int64][]string{}
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	for n := int64(1); len(numbers) > 0; n++ {
		r.rec.options, r.rec.direction, r.rec.problems = nil, Unknown, 0
		if err := r.file.next(&r.rec); err == io.EOF {
			break
		} else if err != nil {
			return found, r.wrap(err, n)
		}
		for len(numbers) > 0 && numbers[0] < n {
			numbers = numbers[1:]
		}
		if len(numbers) > 0 && n == numbers[0] {
			numbers = numbers[1:]
			data, length, link := r.Frame()
			found[n] = Describe(&Frame{Data: data, Length: length, LinkType: link})
		}
	}
	return found, nil
}

// describe returns the line of a header, of a packet that was cut or not.
func (h *headers) describe(o *head, cutPacket bool) string {
	if o.kind == 0 {
		return o.name
	}
	l, err := h.decode(o.kind, o.b)
	if err != nil && cutPacket && len(o.b) < viewed {
		return fmt.Sprintf("%v: cut after %d bytes", o.kind, len(o.b))
	}
	if err != nil {
		return fmt.Sprintf("%v: not decoded", o.kind)
	}
	// A header without its options is still worth a line.
	cut := ""
	if size := len(l.LayerContents()); size > len(o.b) {
		cut = fmt.Sprintf("%d of %d bytes captured", len(o.b), size)
		if least := map[gopacket.LayerType]int{layers.LayerTypeTCP: 20, layers.LayerTypeIPv4: 20}[o.kind]; least == 0 || len(o.b) < least {
			return fmt.Sprintf("%v: %s", o.kind, cut)
		}
	}
	var fields []string
	v := reflect.ValueOf(l).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous || !field.IsExported() || cut != "" && field.Name == "Options" {
			continue
		}
		if text := fieldText(field.Name, v.Field(i)); text != "" {
			fields = append(fields, text)
		}
	}
	if cut != "" {
		fields = append(fields, cut)
	}
	return fmt.Sprintf("%v: %s", o.kind, strings.Join(fields, ", "))
}

// fieldText returns a field's name and value, "" if it is not worth to mention.
func fieldText(name string, v reflect.Value) string {
	words := fieldWords(name)
	if v.IsZero() && name != "Seq" && name != "Window" {
		return ""
	}
	if name == "Version" || name == "IHL" || name == "DataOffset" { // the layer and its options say so
		return ""
	}
	switch v.Kind() {
	case reflect.Bool:
		return words
	case reflect.Pointer, reflect.Interface, reflect.Map:
		return ""
	case reflect.Slice:
		if options, ok := v.Interface().([]layers.TCPOption); ok {
			return optionsText(options)
		}
		if _, ok := v.Interface().(fmt.Stringer); !ok { // neither an address
			return ""
		}
	}
	text := fmt.Sprint(v.Interface())
	if strings.HasPrefix(text, "Unknown") || strings.HasSuffix(name, "Checksum") || strings.HasSuffix(name, "SAP") || name == "Id" {
		text = fmt.Sprintf("%#04x", v.Uint())
	}
	return words + " " + text
}

// optionsText lists the options of TCP, without padding.
func optionsText(options []layers.TCPOption) string {
	var all []string
	for _, o := range options {
		switch o.OptionType {
		case layers.TCPOptionKindEndList, layers.TCPOptionKindNop:
		case layers.TCPOptionKindSACK: // gopacket does not decode them
			text := "SACK"
			for b := o.OptionData; len(b) >= 8; b = b[8:] {
				text += fmt.Sprintf(" %d-%d", binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]))
			}
			all = append(all, text)
		case layers.TCPOptionKindWindowScale:
			all = append(all, fmt.Sprintf("%v %d", o.OptionType, o.OptionData))
		default: // "TCPOption(MSS:1460 0x05b4)"
			text := strings.TrimSuffix(strings.TrimPrefix(o.String(), "TCPOption("), ")")
			kind, value, _ := strings.Cut(text, ":")
			if number, _, ok := strings.Cut(value, " 0x"); ok && number != "" {
				value = number
			}
			all = append(all, strings.TrimSpace(kind+" "+strings.TrimSpace(value)))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "options " + strings.Join(all, ", ")
}

// fieldWords returns a field's name in words: "src port" for SrcPort, "TTL" for TTL.
func fieldWords(name string) string {
	var words []string
	letters := []rune(name)
	for start, i := 0, 1; i <= len(letters); i++ {
		// A word ends before a capital that follows, or is followed by, a small letter.
		if i < len(letters) && !(unicode.IsUpper(letters[i]) && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))) {
			continue
		}
		word := string(letters[start:i])
		if strings.ToUpper(word) != word || len(word) == 1 {
			word = strings.ToLower(word)
		}
		words, start = append(words, word), i
	}
	return strings.Join(words, " ")
}
