@main
enum URLSessionCommand {
    static func main() {}
}
