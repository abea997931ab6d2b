package script

import (
	"strconv"
	"strings"
)

const supportedCommand = "`sysctl [-q] [-w] name=value …`"

// settings reads a command in back quotes: calls of sysctl, separated by line ends, ; or &&.
func (p *parser) settings() *Settings {
	start := p.off
	p.off++
	n := strings.IndexByte(p.src[p.off:], '`')
	if n < 0 {
		p.fail(start, "command is not closed: want `")
	}
	p.limit = p.off + n
	p.safe = p.limit + 1
	s := &Settings{}
	begin := true // at the start of a command
	for {
		at, word, sep := p.shellWord()
		switch {
		case sep || word == "":
			begin = true
		case begin:
			if word != "sysctl" {
				p.unsupported(at, "command "+strconv.Quote(abridged(word)), supportedCommand)
			}
			begin = false
		case word == "-q" || word == "-w" || word == "-qw" || word == "-wq":
		case strings.HasPrefix(word, "-"):
			p.unsupported(at, "sysctl "+strconv.Quote(abridged(word)), "-q, -w")
		default:
			s.List = append(s.List, p.setting(at, word))
		}
		if word == "" && !sep {
			break
		}
	}
	if len(s.List) == 0 {
		p.fail(start, "command sets nothing: want %s", supportedCommand)
	}
	p.limit = len(p.src)
	p.off, p.end = p.safe, p.safe
	return s
}

// shellWord reads the next word or separator of a command and returns its place. word is "" and sep
// false at the end. It removes quotes.
func (p *parser) shellWord() (at int, word string, sep bool) {
	for p.off < p.limit && isBlank(p.src[p.off]) {
		p.off++
	}
	at = p.off
	rest := p.src[at:p.limit]
	switch {
	case rest == "":
		return at, "", false
	case rest[0] == '\n' || rest[0] == ';':
		p.off++
		return at, "", true
	case strings.HasPrefix(rest, "&&"):
		p.off += 2
		return at, "", true
	}
	var b strings.Builder
	quote := byte(0)
	for ; p.off < p.limit; p.off++ {
		switch c := p.src[p.off]; {
		case c == quote:
			quote = 0
		case c == '\n' && quote != 0:
			p.fail(at, "quote is not closed on its line")
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (isBlank(c) || c == '\n' || c == ';' || strings.HasPrefix(p.src[p.off:p.limit], "&&")):
			return at, b.String(), b.Len() == 0 // empty quotes are ignored
		case c < ' ' && c != '\t' || c > '~' || strings.IndexByte("\"'$\\|<>&#*?(){}[]!~", c) >= 0:
			p.unsupported(p.off, "character "+strconv.QuoteRune(rune(c))+" in a command", supportedCommand)
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		p.fail(at, "quote is not closed on its line")
	}
	return at, b.String(), b.Len() == 0
}

func (p *parser) setting(at int, word string) Setting {
	name, value, ok := strings.Cut(word, "=")
	value = strings.Join(strings.Fields(value), " ")
	switch {
	case !ok || value == "":
		p.fail(at, "setting %s: want name=value", strconv.Quote(abridged(word)))
	case !strings.Contains(name, ".") || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-.") != "":
		p.fail(at, "setting %s: want a name in lower case with dots, such as net.ipv4.tcp_sack", strconv.Quote(abridged(name)))
	}
	return Setting{p.pos(at), name, value}
}
