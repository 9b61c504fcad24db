# Implements the parts of Homebrew's formula language that ours uses: loads a formula for the system named in
# ARGV and prints its downloads as JSON. With --install it takes the files from a directory, verifies their
# checksums, installs them below a prefix, and runs the formula's test.
#
#   ruby formula_stand_in.rb FORMULA macos|linux arm|intel [--install FILES PREFIX]
require "digest"
require "fileutils"
require "json"
require "open3"
require "pathname"
require "tmpdir"

SYSTEM, PROCESSOR = ARGV[1], ARGV[2]

class Pathname
  # As in Homebrew: paths, or pairs of a path and its new name.
  def install(*sources)
    mkpath
    sources.flatten.each do |source|
      pairs = source.is_a?(Hash) ? source : { source => File.basename(source) }
      pairs.each do |from, to|
        raise "nothing to install" if from.nil?
        FileUtils.mv(from.to_s, (self/to).to_s)
      end
    end
  end
end

# The methods of a resource, which a formula also has.
module Fetched
  def url(value = nil) = value ? @url = value : @url
  def sha256(value = nil) = value ? @sha256 = value : @sha256

  # Verifies the file and stages it in a separate directory, like Homebrew.
  def stage_from(files)
    name = url.split("/").last
    file = File.join(files, name)
    found = Digest::SHA256.file(file).hexdigest
    raise "#{name} is #{found}, not #{sha256}" unless found == sha256
    Dir.mktmpdir do |directory|
      if name.end_with?(".tar.gz")
        system("tar", "-xzf", file, "-C", directory, exception: true)
        # Homebrew enters the only directory of an archive.
        alone = Dir.children(directory)
        directory = File.join(directory, alone.first) if alone.length == 1
      else
        FileUtils.cp(file, directory)
      end
      Dir.chdir(directory) { yield }
    end
  end
end

class Resource
  include Fetched
  def initialize(&block) = instance_eval(&block)
  def stage(&block) = stage_from(ARGV[4], &block)
end

class Service
  attr_reader :told
  def initialize(formula) = (@formula, @told = formula, {})
  def opt_bin = @formula.opt_bin
  def var = Pathname("/var-of-homebrew")
  %i[run keep_alive process_type log_path error_log_path].each do |name|
    define_method(name) { |value| @told[name] = value.is_a?(Array) ? value.map(&:to_s) : value }
  end
end

class Formula
  class << self
    include Fetched
    attr_reader :resources, :service_block, :test_block
    def inherited(formula) = (@made = formula)
    attr_reader :made
    %i[desc homepage version license].each do |name|
      define_method(name) do |value = nil|
        value ? instance_variable_set("@#{name}", value) : instance_variable_get("@#{name}")
      end
    end
    def on_macos = (yield if SYSTEM == "macos")
    def on_linux = (yield if SYSTEM == "linux")
    def on_arm = (yield if PROCESSOR == "arm")
    def on_intel = (yield if PROCESSOR == "intel")
    def resource(name, &block) = (@resources ||= {})[name] = Resource.new(&block)
    def service(&block) = @service_block = block
    def test(&block) = @test_block = block
  end

  def initialize(prefix) = @prefix = Pathname(prefix)
  def version = self.class.version
  def bin = @prefix/"bin"
  def opt_bin = Pathname("/opt-of-homebrew/postern/bin")
  def man1 = @prefix/"share/man/man1"
  def resource(name) = self.class.resources.fetch(name)
  def chmod(mode, path) = FileUtils.chmod(mode, path.to_s)

  COMPLETIONS = {
    bash: "etc/bash_completion.d/postern",
    zsh: "share/zsh/site-functions/_postern",
    fish: "share/fish/vendor_completions.d/postern.fish",
  }.freeze

  def generate_completions_from_executable(*command, shells:)
    shells.each do |shell|
      said, state = Open3.capture2(*command.map(&:to_s), shell.to_s)
      raise "no completion for #{shell}" unless state.success?
      file = @prefix/COMPLETIONS.fetch(shell)
      file.dirname.mkpath
      file.write(said)
    end
  end

  def shell_output(command)
    said, state = Open3.capture2(command)
    raise "#{command}: #{state}" unless state.success?
    said
  end

  def assert_equal(wanted, found) = (raise "#{found.inspect} is not #{wanted.inspect}" unless wanted == found)

  def assert_match(wanted, found)
    raise "#{found.inspect} has no #{wanted.inspect}" unless found.include?(wanted)
  end
end

load ARGV[0]
formula = Formula.made
if ARGV[3] == "--install"
  made = formula.new(ARGV[5])
  formula.stage_from(ARGV[4]) { made.install }
  made.instance_eval(&formula.test_block)
end
service = Service.new(formula.new("/nowhere"))
service.instance_eval(&formula.service_block)
puts JSON.generate(
  class: formula.name,
  desc: formula.desc,
  homepage: formula.homepage,
  version: formula.version,
  license: formula.license,
  url: formula.url,
  sha256: formula.sha256,
  manual: { url: formula.resources["manual"].url, sha256: formula.resources["manual"].sha256 },
  service: service.told,
  caveats: formula.new("/nowhere").caveats,
)
