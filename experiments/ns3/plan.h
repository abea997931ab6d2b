// The plan of a study, read from its plan.yaml: flat lines "key: value" up to the quick plan.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

class Plan
{
  public:
    // Plan reads the file at path. It ends the program if it cannot.
    explicit Plan(const std::string& path)
    {
        std::ifstream in(path);
        if (!in)
        {
            Fail(path, "cannot be read");
        }
        for (std::string line; std::getline(in, line) && line.rfind("quick:", 0) != 0;)
        {
            auto colon = line.find(": ");
            if (line.empty() || line[0] == '#' || line[0] == ' ' || colon == std::string::npos)
            {
                continue;
            }
            m_values[line.substr(0, colon)] = line.substr(colon + 2);
        }
    }

    // Set changes a value: "key=value".
    void Set(const std::string& change)
    {
        auto sign = change.find('=');
        if (sign == std::string::npos || m_values.count(change.substr(0, sign)) == 0)
        {
            Fail(change, "want KEY=VALUE with a key of the plan");
        }
        m_values[change.substr(0, sign)] = change.substr(sign + 1);
    }

    // Main reads the arguments of a program: PLAN [KEY=VALUE...].
    static Plan Main(int argc, char** argv)
    {
        if (argc < 2)
        {
            Fail(argv[0], "want PLAN [KEY=VALUE...]");
        }
        Plan plan(argv[1]);
        for (int i = 2; i < argc; i++)
        {
            plan.Set(argv[i]);
        }
        return plan;
    }

    // PrintUsed prints the values that the program has read, as in the plan.
    void PrintUsed(std::ostream& out) const
    {
        for (const auto& [key, value] : m_used)
        {
            out << key << ": " << value << "\n";
        }
    }

    // Text returns the value of key as it is written. It ends the program if there is none.
    const std::string& Text(const std::string& key) const
    {
        auto found = m_values.find(key);
        if (found == m_values.end())
        {
            Fail(key, "is not in the plan");
        }
        m_used[key] = found->second;
        return found->second;
    }

    // List returns the members of "[a, b]", or the one of "a".
    std::vector<std::string> List(const std::string& key) const
    {
        std::vector<std::string> all;
        std::string member;
        for (char c : Text(key))
        {
            if (c == ',' || c == ']')
            {
                all.push_back(member);
                member.clear();
            }
            else if (c != '[' && c != ' ' && c != '"')
            {
                member += c;
            }
        }
        if (!member.empty()) // one value without brackets
        {
            all.push_back(member);
        }
        return all;
    }

    double Number(const std::string& key) const { return std::strtod(Text(key).c_str(), nullptr); }

    // Ns returns a duration in nanoseconds.
    int64_t Ns(const std::string& key) const { return ParseNs(Text(key)); }

    // ParseNs reads a duration as 20ms, 1s or 0s. It ends the program if the unit is another.
    static int64_t ParseNs(const std::string& text)
    {
        static const std::map<std::string, double> units{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
        char* end = nullptr;
        double value = std::strtod(text.c_str(), &end);
        auto unit = units.find(end);
        if (unit == units.end())
        {
            Fail(text, "is no duration in ns, us, ms or s");
        }
        return static_cast<int64_t>(value * unit->second + 0.5);
    }

  private:
    [[noreturn]] static void Fail(const std::string& what, const std::string& why)
    {
        std::cerr << what << ": " << why << "\n";
        std::exit(2);
    }

    std::map<std::string, std::string> m_values;
    mutable std::map<std::string, std::string> m_used; // the values that were read
};
