internal import CTestDisk
internal import Glibc
internal import JournalSteps

/// Changes a journal in a process of its own. Each step that is done is a byte more in the file of acknowledgements.
///
///     journal-writer kill FOLDER ACKNOWLEDGEMENTS CHANGE torn|whole    dies at that change of the disk
///     journal-writer record FOLDER ACKNOWLEDGEMENTS LOG                records what it does to the disk
@main enum JournalWriter {
    static func main() {
        let words = CommandLine.arguments.dropFirst().map { $0 }
        guard words.count >= 4 else { exit(64) }
        let isRecorded = words[0] == "record"
        if isRecorded {
            ctd_record(words[1], words[3])
        } else {
            ctd_kill_at(Int(words[3]) ?? 0, words[1], words.last == "torn" ? 1 : 0)
        }
        let steps = JournalSteps(in: words[1])
        let file = open(words[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        for step in 0..<JournalSteps.count {
            guard steps.perform(step) else { _exit(1) }
            write(file, ".", 1)
            ctd_mark(step + 1)
        }
        _exit(0)
    }
}
